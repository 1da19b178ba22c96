# SPDX-License-Identifier: MIT
# What `cmake --install` writes: headers; libhusk, libhusk_train, libhusk_verify and, where MPI is, libhusk_dist; the
# CMake package with husk::husk, husk::husk_train, husk::husk_verify, husk::husk_dist and their static twins; husk.pc,
# husk_train.pc, husk_verify.pc, husk_dist.pc; clbench with its man page and completions. All of it may be moved as a
# whole.

include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/husk")
set(package_binary_dir "${PROJECT_BINARY_DIR}/package")

set(libraries husk husk_train husk_verify)
set(without_dist PATTERN "dist.h" EXCLUDE)
if(TARGET husk_dist)
    list(APPEND libraries husk_dist)
    set(without_dist "")
endif()
set(targets ${libraries})
list(TRANSFORM targets APPEND "_static")
install(TARGETS ${libraries} ${targets} EXPORT husk_targets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
foreach(root "${PROJECT_SOURCE_DIR}/include" "${PROJECT_BINARY_DIR}/include")
    install(DIRECTORY "${root}/husk" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h"
        PATTERN "*.hpp" ${without_dist})
endforeach()

# find_package(husk)
install(EXPORT husk_targets NAMESPACE husk:: DESTINATION "${package_dir}" FILE husk-targets.cmake)
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/husk-config.cmake.in"
    "${package_binary_dir}/husk-config.cmake" INSTALL_DESTINATION "${package_dir}"
    NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${package_binary_dir}/husk-config-version.cmake" COMPATIBILITY SameMajorVersion)
install(FILES "${package_binary_dir}/husk-config.cmake" "${package_binary_dir}/husk-config-version.cmake"
    DESTINATION "${package_dir}")

# pkg-config husk, husk_train, husk_verify: the prefix is found from where the file lies.
set(HUSK_PC_PREFIX "\${pcfiledir}")
file(RELATIVE_PATH up "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(HUSK_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
else()
    string(REGEX REPLACE "/$" "" up "${up}")
    string(APPEND HUSK_PC_PREFIX "/${up}")
endif()
foreach(kind INCLUDEDIR LIBDIR)
    if(IS_ABSOLUTE "${CMAKE_INSTALL_${kind}}")
        set(HUSK_PC_${kind} "${CMAKE_INSTALL_${kind}}")
    else()
        set(HUSK_PC_${kind} "\${prefix}/${CMAKE_INSTALL_${kind}}")
    endif()
endforeach()
set(HUSK_PC_LIBS_PRIVATE "-lm")
if(CMAKE_THREAD_LIBS_INIT)
    string(APPEND HUSK_PC_LIBS_PRIVATE " ${CMAKE_THREAD_LIBS_INIT}")
endif()
foreach(name IN LISTS CMAKE_DL_LIBS)
    string(APPEND HUSK_PC_LIBS_PRIVATE " -l${name}")
endforeach()
if(HUSK_HAS_CLBLAST)
    string(APPEND HUSK_PC_LIBS_PRIVATE " -lclblast -lstdc++") # a static one is C++
endif()
set(HUSK_PC_MPI "")
foreach(file IN LISTS MPI_C_LIBRARIES)
    string(APPEND HUSK_PC_MPI " ${file}")
endforeach()
foreach(name IN LISTS libraries)
    configure_file("${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in" "${package_binary_dir}/${name}.pc" @ONLY)
    install(FILES "${package_binary_dir}/${name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endforeach()

install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/README.md" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

if(TARGET clbench)
    install(TARGETS clbench RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
    install(FILES "${PROJECT_SOURCE_DIR}/docs/clbench.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" OPTIONAL)
    install(FILES "${PROJECT_SOURCE_DIR}/bench/completions/clbench"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
    install(FILES "${PROJECT_SOURCE_DIR}/bench/completions/_clbench"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
endif()
